import type { Texts } from "../page-data.ts";

const EXPIRED = {
  heading: "Este link expirou",
  body: "Para sua segurança, o link vale só por pouco tempo. Peça um novo à empresa que o enviou.",
};

const REVOKED = {
  heading: "Este link não é mais válido",
  body: "A empresa que enviou este link o cancelou. Peça um novo a ela.",
};

export const PT: Texts = {
  title: "Conecte sua empresa",
  noScript: "Esta página precisa de JavaScript. Ative-o no navegador e carregue a página de novo.",
  prefill: {
    name: "Nome da empresa",
    email: "E-mail",
    website: "Site",
    displayName: "Nome que os clientes veem",
    category: "Categoria",
  },
  page: {
    start: {
      heading: "Conecte sua empresa",
      body: "Uma janela vai abrir: entre na sua conta e permita o acesso. Leva uns dois minutos. Nunca vemos a sua senha.",
      prefill: "Preenchido para você",
      prefillUse:
        "Ao conectar um número de telefone, a janela já contém estes dados. Você pode alterá-los lá.",
    },
    platforms: {
      chatapp: { name: "Chat", action: "Conectar um número de telefone" },
      photoapp: { name: "Fotos", action: "Conectar uma conta de fotos" },
      socialapp: { name: "Social", action: "Conectar uma página" },
    },
    progress: { label: "Andamento", access: "Permitir acesso", connect: "Conectar", done: "Pronto" },
    waiting: {
      heading: "Continue na nova janela",
      body: "Entre na sua conta e permita o acesso. Quando terminar, esta página continua sozinha.",
      status: "Aguardando a nova janela …",
      closed:
        "A janela parece estar fechada. Se você a fechou antes de terminar, toque em “Fechei a janela”.",
      reopen: "Abrir a janela de novo",
      iClosed: "Fechei a janela",
    },
    blocked: {
      heading: "O navegador bloqueou a nova janela",
      body: "Abra-a com este botão. Quando terminar lá, volte a esta página.",
      open: "Abrir a janela",
      hint: "Se nada abrir, permita pop-ups para este site nas configurações do navegador e carregue a página de novo.",
    },
    connecting: {
      heading: "Estamos conectando sua conta",
      body: "Costuma levar alguns segundos. Deixe esta página aberta.",
      status: "Conectando …",
    },
    choosing: {
      heading: {
        chatapp: "Qual número de telefone você quer conectar?",
        photoapp: "Qual conta de fotos você quer conectar?",
        socialapp: "Qual página você quer conectar?",
      },
      body: "Você pode conectar um item agora.",
      confirm: "Conectar",
    },
    pin: {
      heading: "Digite o PIN deste número",
      body: "O número tem confirmação em duas etapas. Digite o PIN de 6 dígitos que você ou um colega escolheu para ele.",
      label: "PIN de 6 dígitos",
      confirm: "Continuar",
      format: "O PIN tem exatamente 6 dígitos.",
      wrong: "Este PIN não está correto.",
      left: { 1: "Resta 1 tentativa.", 2: "Restam 2 tentativas." },
    },
    completed: {
      heading: "Conectado",
      body: "Tudo pronto. Suas mensagens já estão configuradas e você pode sair desta página.",
    },
    failed: {
      heading: "A conexão não funcionou",
      steps: {
        exchange:
          "Não foi possível confirmar a sua permissão, talvez porque a janela ficou aberta por muito tempo. Tente de novo.",
        grant:
          "Parte do acesso necessário não foi permitida. Tente de novo e deixe todas as permissões ativadas.",
        read: "Não encontramos um número, uma página ou uma conta de fotos para conectar. Tente de novo e escolha um item na janela.",
        subscribe: "A plataforma não nos deixou receber as suas mensagens. Tente de novo em alguns minutos.",
        register:
          "A plataforma não aceitou o número de telefone. Confira lá se o número está verificado e se você sabe o PIN dele e tente de novo.",
        namespace: "A plataforma não respondeu como esperado. Tente de novo em alguns minutos.",
        store: "Algo deu errado do nosso lado. Tente de novo em alguns minutos.",
      },
      codes: {
        pin_rejected: "O PIN estava errado três vezes. Descubra o PIN deste número e tente de novo.",
        channel_taken:
          "Outra empresa acabou de conectar este número ou esta página. Se for seu, fale com a empresa que enviou este link.",
        platform_unavailable: "A plataforma não responde no momento. Tente de novo em alguns minutos.",
        platform_timeout: "A plataforma demorou demais para responder. Tente de novo em alguns minutos.",
        platform_policy_blocked:
          "A plataforma bloqueou esta conta por causa das regras dela. Entre na plataforma para ver o que ela pede.",
        platform_permission_denied:
          "A plataforma não permite que você conecte esta conta. Peça acesso a quem a administra lá.",
        platform_rate_limited: "A plataforma recebeu pedidos demais. Tente de novo em alguns minutos.",
      },
      retry: "Tentar de novo",
      details: "Detalhes para o suporte",
    },
    notices: {
      cancelled: "Nada foi conectado. Você pode começar de novo quando quiser.",
      unavailable: "Não foi possível abrir a janela porque o serviço não respondeu. Tente de novo.",
      tooMany: "Houve tentativas demais com este link. Peça um novo à empresa que o enviou.",
    },
    cancel: "Cancelar",
    loading: "Carregando …",
    offline: "Sem conexão no momento. Continuamos tentando.",
    expired: EXPIRED,
    revoked: REVOKED,
  },
  callback: {
    sending: { heading: "Um momento", body: "Estamos enviando a sua permissão. Deixe esta janela aberta." },
    done: {
      heading: "Você pode fechar esta janela",
      body: "Volte à página em que estava. Ela mostra o próximo passo.",
    },
    refused: {
      heading: "Esta janela não vale mais",
      body: "Feche-a e volte à página em que estava. Lá você pode começar de novo.",
    },
    ended: {
      heading: "Este link não é mais válido",
      body: "Ele expirou ou a empresa que o enviou o cancelou. Feche esta janela e peça um novo link.",
    },
    unreachable: {
      heading: "Sem conexão",
      body: "Não foi possível enviar a sua permissão. Feche esta janela e comece de novo na página em que estava.",
    },
  },
  completed: {
    heading: "Isto já está pronto",
    body: "A conta está conectada, e o link não pode ser usado outra vez. Você pode sair desta página.",
  },
  unknown: {
    heading: "Este link não funciona",
    body: "Confira se você abriu o link inteiro ou peça um novo à empresa que o enviou.",
  },
};
