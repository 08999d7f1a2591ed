import type { ListUserSessionsPage, UserSessionDto } from "../../../sdk/src/generated/types.ts";
import { call, toProblem } from "../app/api.ts";
import { useLoaded } from "../app/loading.ts";
import { query } from "../app/router.ts";
import { readSession } from "../app/session.ts";
import { Heading } from "../components/heading.tsx";
import { Empty, Loading } from "../components/notices.tsx";
import { Pager } from "../components/pager.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showProblemToast, showToast } from "../components/toast.tsx";
import { texts } from "../texts.ts";

/** The caller's own sessions, each of which can be ended. */
export function Sessions() {
  const loaded = useLoaded(JSON.stringify(query.value), (signal) =>
    call<ListUserSessionsPage>("GET", "/api/auth/sessions", { query: query.value, signal }),
  );
  const isProviderUser = loaded.problem?.status === 404;

  async function end({ id, current }: UserSessionDto): Promise<void> {
    try {
      await call("DELETE", `/api/auth/sessions/${id}`);
      showToast(texts.sessions.ended);
      await (current ? readSession() : loaded.reload());
    } catch (thrown) {
      showProblemToast(toProblem(thrown));
    }
  }

  const columns: Column<UserSessionDto>[] = [
    {
      title: texts.sessions.program,
      isMain: true,
      cell: ({ user_agent, current }) => (
        <>
          {describeProgram(user_agent)} {current && <strong class="chip">{texts.sessions.current}</strong>}
        </>
      ),
    },
    { title: texts.sessions.address, cell: ({ address }) => address ?? texts.sessions.commandLine },
    { title: texts.sessions.started, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: texts.sessions.used, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    { title: texts.sessions.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: texts.sessions.action,
      cell: (session) => (
        <button type="button" class="small" onClick={() => end(session)}>
          {session.current ? texts.signOut : texts.sessions.end}
        </button>
      ),
    },
  ];

  return (
    <>
      <Heading title={texts.sessions.title} />
      {isProviderUser ? (
        <Empty title={texts.sessions.none} />
      ) : (
        <Loading loaded={loaded}>
          {({ data, paging }) => (
            <>
              <Table caption={texts.sessions.title} columns={columns} rows={data} idOf={({ id }) => id} />
              <Pager paging={paging} />
            </>
          )}
        </Loading>
      )}
    </>
  );
}

const BROWSERS = ["Edg", "OPR", "Firefox", "Chrome", "Safari"];
const SYSTEMS = ["Windows", "Android", "iPhone", "iPad", "Mac OS", "Linux"];

/** `Chrome, Linux`: a User-Agent names many browsers, of which the first of this list is the real one. */
function describeProgram(userAgent: string | null): string {
  if (!userAgent) return texts.sessions.unknownProgram;
  const browser = BROWSERS.find((name) => userAgent.includes(`${name}/`));
  const system = SYSTEMS.find((name) => userAgent.includes(name));
  const name = { Edg: "Edge", OPR: "Opera" }[browser ?? ""] ?? browser;
  return [name ?? userAgent.split("/")[0], system].filter(Boolean).join(", ");
}
