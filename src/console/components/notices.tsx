import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Problem } from "../app/api.ts";
import type { Loaded } from "../app/loading.ts";
import { restoreScroll } from "../app/router.ts";
import { texts } from "../texts.ts";
import { Id } from "./code.tsx";

interface ProblemNoticeProps {
  problem: Problem;
  onRetry?: () => void;
}

/** What went wrong, what to do, and the request id to copy. */
export const ProblemNotice = ({ problem, onRetry }: ProblemNoticeProps) => (
  <div class="notice bad" role="alert">
    <p>{problem.message}</p>
    {problem.details.length > 1 && (
      <ul>
        {problem.details.map(({ path, message }) => (
          <li key={path + message}>{message}</li>
        ))}
      </ul>
    )}
    {(problem.requestId || onRetry) && (
      <div class="actions">
        {onRetry && (
          <button type="button" onClick={onRetry}>
            {texts.tryAgain}
          </button>
        )}
        {problem.requestId && (
          <span class="soft">
            {texts.request} <Id id={problem.requestId} />
          </span>
        )}
      </div>
    )}
  </div>
);

interface EmptyProps {
  title: string;
  children?: ComponentChildren;
}

/** Says that there is nothing, and what to do next. */
export const Empty = ({ title, children }: EmptyProps) => (
  <div class="empty">
    <p>{title}</p>
    {children}
  </div>
);

const Skeleton = () => (
  <div class="skeleton" role="status" aria-label={texts.loading}>
    {[0, 1, 2, 3, 4, 5].map((line) => (
      <span key={line} />
    ))}
  </div>
);

/** False for answers that stay the same: a wrong id stays wrong. */
const mayPass = ({ status }: Problem): boolean => ![400, 403, 404].includes(status);

interface LoadingProps<T> {
  loaded: Loaded<T>;
  children(value: T): ComponentChildren;
}

/** Shows what was loaded; before that a skeleton, but only when it takes a while; or why it could not be loaded. */
export function Loading<T>({ loaded, children }: LoadingProps<T>) {
  const { value, problem, isSlow, reload } = loaded;
  const isLoaded = value !== undefined;
  useEffect(() => {
    if (isLoaded) restoreScroll();
  }, [isLoaded]);
  return (
    <>
      {problem && (
        <ProblemNotice problem={problem} {...(mayPass(problem) ? { onRetry: () => void reload() } : {})} />
      )}
      {value !== undefined && <div class={isSlow ? "loaded dimmed" : "loaded"}>{children(value)}</div>}
      {value === undefined && !problem && isSlow && <Skeleton />}
    </>
  );
}
