import { useEffect, useState } from "preact/hooks";
import { fromLocalInput, toLocalInput } from "../app/format.ts";
import { hrefOf, navigate, path, query } from "../app/router.ts";
import { texts } from "../texts.ts";
import { Field, type Option, SelectField } from "./field.tsx";

/** A filter of a list; its name is that of the API's parameter. */
export interface Filter {
  name: string;
  label: string;
  /** Offers these values; without them the filter is a text, or a time. */
  options?: readonly Option[];
  isTime?: true;
  /** Shown only on request, or when it is set. */
  isMinor?: true;
}

/** Sets a filter in the address. The list begins anew with the newest rows. */
function setFilter(name: string, value: string): void {
  const { before, after, ...filters } = query.value;
  navigate(hrefOf(path.value, { ...filters, [name]: value }));
}

/** The filters of a list, as the address has them. Each runs on the server. */
export function Filters({ filters }: { filters: readonly Filter[] }) {
  const minor = filters.filter(({ isMinor }) => isMinor);
  const isAnyMinorSet = minor.some(({ name }) => query.value[name]);
  const isAnySet = filters.some(({ name }) => query.value[name]);
  return (
    <search class="filters">
      {filters.filter(({ isMinor }) => !isMinor).map(renderFilter)}
      {minor.length > 0 && (
        <details open={isAnyMinorSet}>
          <summary>{texts.moreFilters}</summary>
          <div class="filters">{minor.map(renderFilter)}</div>
        </details>
      )}
      {isAnySet && (
        <a class="button quiet" href={path.value}>
          {texts.clearFilters}
        </a>
      )}
    </search>
  );
}

const renderFilter = (filter: Filter) =>
  filter.options ? (
    <SelectField
      key={filter.name}
      label={filter.label}
      value={query.value[filter.name] ?? ""}
      options={[{ value: "", label: texts.any }, ...withUnlisted(filter.options, query.value[filter.name])]}
      onChange={(value) => setFilter(filter.name, value)}
    />
  ) : (
    <TypedFilter key={filter.name} {...filter} />
  );

/** The options of a filter whose values are words of the API. */
export const wordOptions = (values: readonly string[]): Option[] =>
  values.map((value) => ({ value, label: texts.statuses[value] ?? value }));

/** A link may name a value that is not offered, for example a channel beyond the first hundred. */
const withUnlisted = (options: readonly Option[], value: string | undefined): readonly Option[] =>
  !value || options.some((option) => option.value === value)
    ? options
    : [...options, { value, label: value }];

/** Applied when the person leaves the field or presses Enter, not with each key. */
function TypedFilter({ name, label, isTime }: Filter) {
  const value = query.value[name] ?? "";
  const shown = isTime ? toLocalInput(value) : value;
  const [typed, setTyped] = useState(shown);
  useEffect(() => setTyped(shown), [shown]);
  const apply = () => {
    if (typed === shown) return; // a time of the address is more exact than the field
    const next = isTime ? fromLocalInput(typed, name === "until") : typed.trim();
    if (next !== value) setFilter(name, next);
  };
  return (
    <Field label={label}>
      {(attributes) => (
        <input
          {...attributes}
          {...(isTime ? { type: "datetime-local" } : {})}
          spellcheck={false}
          autoComplete="off"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onBlur={apply}
          onKeyDown={(event) => event.key === "Enter" && apply()}
        />
      )}
    </Field>
  );
}
