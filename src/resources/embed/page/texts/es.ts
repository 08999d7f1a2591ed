import type { Texts } from "../page-data.ts";

const EXPIRED = {
  heading: "Este enlace ha caducado",
  body: "Por tu seguridad, el enlace solo funciona por poco tiempo. Pide uno nuevo a la empresa que te lo dio.",
};

const REVOKED = {
  heading: "Este enlace ya no es válido",
  body: "La empresa que te dio este enlace lo ha anulado. Pídele uno nuevo.",
};

export const ES: Texts = {
  title: "Conecta tu negocio",
  noScript: "Esta página necesita JavaScript. Actívalo en tu navegador y vuelve a cargar la página.",
  prefill: {
    name: "Nombre del negocio",
    email: "Correo electrónico",
    website: "Sitio web",
    displayName: "Nombre que ven los clientes",
    category: "Categoría",
  },
  page: {
    start: {
      heading: "Conecta tu negocio",
      body: "Se abre una ventana: inicia sesión y permite el acceso. Tarda unos dos minutos. Nunca vemos tu contraseña.",
      prefill: "Rellenado para ti",
      prefillUse:
        "Al conectar un número de teléfono, la ventana ya contiene estos datos. Allí puedes cambiarlos.",
    },
    platforms: {
      chatapp: { name: "Chat", action: "Conectar un número de teléfono" },
      photoapp: { name: "Fotos", action: "Conectar una cuenta de fotos" },
      socialapp: { name: "Social", action: "Conectar una página" },
    },
    progress: { label: "Progreso", access: "Permitir acceso", connect: "Conectar", done: "Listo" },
    waiting: {
      heading: "Continúa en la ventana nueva",
      body: "Inicia sesión y permite el acceso. Cuando termines, esta página continuará sola.",
      status: "Esperando la ventana nueva …",
      closed: "La ventana parece cerrada. Si la cerraste antes de terminar, pulsa «Cerré la ventana».",
      reopen: "Abrir la ventana otra vez",
      iClosed: "Cerré la ventana",
    },
    blocked: {
      heading: "Tu navegador bloqueó la ventana nueva",
      body: "Ábrela con este botón. Cuando termines allí, vuelve a esta página.",
      open: "Abrir la ventana",
      hint: "Si no se abre nada, permite las ventanas emergentes de este sitio en los ajustes del navegador y vuelve a cargar la página.",
    },
    connecting: {
      heading: "Estamos conectando tu cuenta",
      body: "Suele tardar unos segundos. Deja abierta esta página.",
      status: "Conectando …",
    },
    choosing: {
      heading: {
        chatapp: "¿Qué número de teléfono quieres conectar?",
        photoapp: "¿Qué cuenta de fotos quieres conectar?",
        socialapp: "¿Qué página quieres conectar?",
      },
      body: "Puedes conectar una opción ahora.",
      confirm: "Conectar",
    },
    pin: {
      heading: "Escribe el PIN de este número",
      body: "El número tiene verificación en dos pasos. Escribe el PIN de 6 dígitos que tú o un colega eligió para él.",
      label: "PIN de 6 dígitos",
      confirm: "Continuar",
      format: "El PIN tiene exactamente 6 dígitos.",
      wrong: "Este PIN no es correcto.",
      left: { 1: "Te queda 1 intento.", 2: "Te quedan 2 intentos." },
    },
    completed: {
      heading: "Conectado",
      body: "Todo listo. Tus mensajes ya están configurados y puedes salir de esta página.",
    },
    failed: {
      heading: "La conexión no funcionó",
      steps: {
        exchange:
          "No se pudo confirmar tu permiso, quizá porque la ventana estuvo abierta demasiado tiempo. Inténtalo de nuevo.",
        grant:
          "No se permitió una parte del acceso necesario. Inténtalo de nuevo y deja activados todos los permisos.",
        read: "No encontramos un número, una página o una cuenta de fotos para conectar. Inténtalo de nuevo y elige una opción en la ventana.",
        subscribe: "La plataforma no nos dejó recibir tus mensajes. Inténtalo de nuevo en unos minutos.",
        register:
          "La plataforma no aceptó el número de teléfono. Comprueba allí que el número está verificado y que conoces su PIN, e inténtalo de nuevo.",
        namespace: "La plataforma no respondió como se esperaba. Inténtalo de nuevo en unos minutos.",
        store: "Algo salió mal por nuestra parte. Inténtalo de nuevo en unos minutos.",
      },
      codes: {
        pin_rejected:
          "El PIN fue incorrecto tres veces. Averigua el PIN de este número e inténtalo de nuevo.",
        channel_taken:
          "Otra empresa acaba de conectar este número o esta página. Si es tuyo, habla con la empresa que te dio este enlace.",
        platform_unavailable:
          "La plataforma no responde en este momento. Inténtalo de nuevo en unos minutos.",
        platform_timeout: "La plataforma tardó demasiado en responder. Inténtalo de nuevo en unos minutos.",
        platform_policy_blocked:
          "La plataforma ha bloqueado esta cuenta por sus normas. Entra en la plataforma para ver qué te pide.",
        platform_permission_denied:
          "La plataforma no te permite conectar esta cuenta. Pide acceso a quien la administra allí.",
        platform_rate_limited:
          "La plataforma recibió demasiadas solicitudes. Inténtalo de nuevo en unos minutos.",
      },
      retry: "Intentar de nuevo",
      details: "Detalles para soporte",
    },
    notices: {
      cancelled: "No se conectó nada. Puedes empezar de nuevo cuando quieras.",
      unavailable: "No se pudo abrir la ventana porque el servicio no respondió. Inténtalo de nuevo.",
      tooMany: "Hubo demasiados intentos con este enlace. Pide uno nuevo a la empresa que te lo dio.",
    },
    cancel: "Cancelar",
    loading: "Cargando …",
    offline: "No hay conexión en este momento. Seguimos intentándolo.",
    expired: EXPIRED,
    revoked: REVOKED,
  },
  callback: {
    sending: { heading: "Un momento", body: "Estamos enviando tu permiso. Deja abierta esta ventana." },
    done: {
      heading: "Puedes cerrar esta ventana",
      body: "Vuelve a la página de la que venías. Allí verás el siguiente paso.",
    },
    refused: {
      heading: "Esta ventana ya no sirve",
      body: "Ciérrala y vuelve a la página de la que venías. Allí puedes empezar de nuevo.",
    },
    ended: {
      heading: "Este enlace ya no es válido",
      body: "Ha caducado o la empresa que te lo dio lo ha anulado. Cierra esta ventana y pide un enlace nuevo.",
    },
    unreachable: {
      heading: "No hay conexión",
      body: "No se pudo enviar tu permiso. Cierra esta ventana y empieza de nuevo en la página de la que venías.",
    },
  },
  completed: {
    heading: "Esto ya está hecho",
    body: "La cuenta está conectada y el enlace no se puede usar otra vez. Puedes salir de esta página.",
  },
  unknown: {
    heading: "Este enlace no funciona",
    body: "Comprueba que abriste el enlace completo o pide uno nuevo a la empresa que te lo dio.",
  },
};
