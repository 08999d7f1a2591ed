import type { ListAdAccountsPage, MarketingTermsStatusDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { useLoaded } from "../../app/loading.ts";
import { query } from "../../app/router.ts";
import { isManager, may } from "../../app/session.ts";
import { Filters } from "../../components/filters.tsx";
import { Heading } from "../../components/heading.tsx";
import { Empty, Loading } from "../../components/notices.tsx";
import { Pager } from "../../components/pager.tsx";
import { adsTexts as words } from "../../texts/ads.ts";
import { ConnectButton } from "./account-actions.tsx";
import { AccountTable } from "./account-table.tsx";

const STATUSES = ["active", "available", "disabled", "revoked"] as const;

const FILTERS = [
  {
    name: "status",
    label: words.columns.status,
    options: STATUSES.map((value) => ({ value, label: words.statuses[value] })),
  },
  { name: "q", label: words.search },
];

interface Ads {
  terms: MarketingTermsStatusDto;
  page: ListAdAccountsPage;
}

async function loadAds(signal: AbortSignal): Promise<Ads> {
  const { status, q, after, before } = query.value;
  const [terms, page] = await Promise.all([
    call<MarketingTermsStatusDto>("GET", "/api/marketing/terms", { signal }),
    call<ListAdAccountsPage>("GET", "/api/marketing/ad-accounts", {
      query: { status, q, after, before },
      signal,
    }),
  ]);
  return { terms, page };
}

/** The client's ad accounts, and whether the terms allow to work with them. */
export function AdAccounts() {
  const loaded = useLoaded(JSON.stringify(query.value), loadAds);
  const isAccepted = loaded.value?.terms.accepted ?? false;
  return (
    <>
      <Heading title={words.title} actions={<Actions isAccepted={isAccepted} />} />
      {loaded.value && !isAccepted && <TermsNotice terms={loaded.value.terms} />}
      <Filters filters={FILTERS} />
      <Loading loaded={loaded}>
        {({ page: { data, paging } }) => (
          <>
            {data.length === 0 ? (
              <NoAccounts />
            ) : (
              <AccountTable accounts={data} isChangeable={isAccepted} onChange={() => void loaded.reload()} />
            )}
            <Pager paging={paging} />
          </>
        )}
      </Loading>
    </>
  );
}

const Actions = ({ isAccepted }: { isAccepted: boolean }) => (
  <>
    {isAccepted && (
      <a class="button" href="/console/ads/terms">
        {words.terms.show}
      </a>
    )}
    {isAccepted && may("marketing:manage") && <ConnectButton label={words.connect} />}
  </>
);

const TermsNotice = ({ terms }: { terms: MarketingTermsStatusDto }) => (
  <div class="notice waiting">
    <p>{terms.accepted_at === null ? words.terms.needed : words.terms.renewed}</p>
    <div class="actions">
      <a class="button primary" href="/console/ads/terms">
        {isManager() ? words.terms.read : words.terms.show}
      </a>
    </div>
  </div>
);

const NoAccounts = () =>
  Object.keys(query.value).length > 0 ? (
    <Empty title={words.noneMatch} />
  ) : (
    <Empty title={words.none}>
      <p>{words.noneHint}</p>
    </Empty>
  );
