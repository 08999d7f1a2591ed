import t from "tap";
import type { Route } from "../../../src/http/route.ts";
import type { TObject, TSchema } from "../../../src/schema/types.ts";
import { productRoutes } from "../../fixtures/http/api.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import {
  type AdsContext,
  COFFEE_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../fixtures/tenants/ad-grants.ts";
import {
  type AdObjectIds,
  type AdResource,
  makeActiveAdvertiser,
  makeAdObjects,
  NEW_OBJECTS,
  receivedWrites,
} from "../../fixtures/tenants/ad-objects.ts";
import { until } from "../../fixtures/until.ts";

/**
 * Two clients whose accounts the same platform user can access. Every place where a request takes the id of an ad object
 * is found in the route table: with the other client's id, the request must fail.
 */

const PREFIX = "/api/marketing";

/** The kind of object that a parameter or a field of this name identifies. */
const KIND_BY_NAME: Readonly<Record<string, keyof AdObjectIds>> = {
  campaignId: "campaign",
  adSetId: "adset",
  adId: "ad",
  creativeId: "creative",
  id: "video",
  campaign_id: "campaign",
  adset_id: "adset",
  creative_id: "creative",
  object_id: "campaign",
  reportRunId: "report",
};

const isPlatformId = (schema: TSchema) => (schema as { pattern?: string }).pattern === "^\\d+$";

/** The paths of all platform ids in a schema: `["creative", "creative_id"]`. */
function idPathsOf(schema: TSchema | undefined, path: readonly string[] = []): string[][] {
  const properties = Object.entries<TSchema>((schema as Partial<TObject> | undefined)?.properties ?? {});
  return properties.flatMap(([name, property]) =>
    isPlatformId(property) ? [[...path, name]] : idPathsOf(property, [...path, name]),
  );
}

function kindOf(name: string): keyof AdObjectIds {
  const kind = KIND_BY_NAME[name];
  if (!kind) throw new Error(`${name} identifies an ad object: add its kind to KIND_BY_NAME`);
  return kind;
}

/** Returns a copy of the body with another value at this path. */
function withValue(body: object, [name = "", ...rest]: readonly string[], value: string): object {
  const inner = (body as Record<string, object>)[name] ?? {};
  return { ...body, [name]: rest.length === 0 ? value : withValue(inner, rest, value) };
}

const routes = productRoutes().filter(
  ({ path, params, query, body }) =>
    path.startsWith(PREFIX) &&
    [params, query, body as TSchema].some((schema) => idPathsOf(schema).length > 0),
);

const titleOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

/** A valid body of the client's own objects. */
function ownBody({ method, path }: Route, { campaign, adset, creative }: AdObjectIds): object | undefined {
  if (method === "patch") return { name: "Taken over" };
  if (method !== "post") return undefined;
  const references: Record<string, object> = {
    adsets: { campaign_id: campaign },
    ads: { adset_id: adset, creative: { creative_id: creative } },
  };
  const resource = path.slice(PREFIX.length + 1) as AdResource;
  return { ...NEW_OBJECTS[resource], ...references[resource] };
}

interface Place {
  title: string;
  /** Puts the id of another client's object in its place. */
  apply(request: Request, theirs: AdObjectIds): Request;
}

interface Request {
  path: string;
  query: Record<string, string>;
  body: object | undefined;
}

/** Every place of a route that takes the id of an ad object. */
function placesOf(route: Route): Place[] {
  const pathNames = idPathsOf(route.params).map(([name]) => name as string);
  return [
    ...pathNames.map((name) => ({
      title: `the path parameter ${name}`,
      apply: (request: Request, theirs: AdObjectIds) => ({
        ...request,
        path: request.path.replace(/\d+/, theirs[kindOf(name)]),
      }),
    })),
    ...idPathsOf(route.query).map(([name = ""]) => ({
      title: `the query parameter ${name}`,
      apply: (request: Request, theirs: AdObjectIds) => ({
        ...request,
        query: { ...request.query, [name]: theirs[kindOf(name)] },
      }),
    })),
    ...idPathsOf(route.body as TSchema).map((path) => ({
      title: `the field ${path.join(".")}`,
      apply: (request: Request, theirs: AdObjectIds) => ({
        ...request,
        body: withValue(request.body ?? {}, path, theirs[kindOf(path.at(-1) as string)]),
      }),
    })),
  ];
}

/** Registers a video in an account at the platform, and waits until it is ready. */
async function makeVideo({ sandbox }: AdsContext, account: string): Promise<string> {
  const token = issueAdToken([account]);
  const form = { file_url: "https://shop.example/video.mp4" };
  const { body } = await callSandbox(`${sandbox.base}/act_${account}/advideos`, { token, form });
  await until("the video is ready", async () => {
    const { body: video } = await callSandbox(`${sandbox.base}/${body.id}`, {
      token,
      query: { fields: "status" },
    });
    return video.status.video_status === "ready";
  });
  return body.id;
}

t.test("clients whose accounts are reachable by the same platform user", async (t) => {
  const context = await startAdsContext(t);
  const both = [COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID];
  const mine = await makeActiveAdvertiser(context, { account: COFFEE_ACCOUNT_ID, reachable: both });
  const other = await makeActiveAdvertiser(context, { account: WHOLESALE_ACCOUNT_ID, reachable: both });
  const [own, theirs] = [await makeAdObjects(mine), await makeAdObjects(other)];

  const requestOf = (route: Route, adAccountId: string): Request => {
    const path = route.path.slice(PREFIX.length).replace(/\{(\w+)\}/, (_, name) => own[kindOf(name)]);
    const isGet = route.method === "get";
    const body = ownBody(route, own);
    return {
      path,
      query: isGet ? { ad_account_id: adAccountId } : {},
      body: body && { ad_account_id: adAccountId, ...body },
    };
  };
  const send = ({ method }: Route, { path, query, body }: Request) =>
    mine.call(method.toUpperCase(), `${path}?${new URLSearchParams(query)}`, body);
  const countWrites = async () => (await receivedWrites(context)).length;

  t.ok(routes.length >= 12);

  for (const route of routes)
    t.test(titleOf(route), async (t) => {
      t.ok(placesOf(route).length > 0);
      for (const { title, apply } of placesOf(route)) {
        const writes = await countWrites();
        t.match(
          await send(route, apply(requestOf(route, mine.adAccountId), theirs)),
          { status: 404, body: { error: "platform_object_not_found" } },
          `another client's object in ${title}`,
        );
        t.equal(await countWrites(), writes, "nothing was written");
      }
      t.match(
        await send(route, requestOf(route, other.adAccountId)),
        { status: 404, body: { error: "not_found" } },
        "another client's account",
      );
    });

  t.test("the routes accept the client's own objects", async (t) => {
    for (const route of routes) {
      const { status, text } = await send(route, requestOf(route, mine.adAccountId));
      t.ok(status >= 200 && status < 300, `${titleOf(route)}: ${text}`);
    }
  });

  t.test("an image or a video of another account is refused by the platform", async (t) => {
    const video = await makeVideo(context, WHOLESALE_ACCOUNT_ID);
    const ownVideo = await makeVideo(context, COFFEE_ACCOUNT_ID);
    const imageOf = (account: string) => `abcdef0123456789${account}`;
    const withContent = (content: object) => ({
      object_story_spec: { page_id: "1300000000000401", ...content },
    });
    const link = { link: "https://shop.example/" };
    const foreign = [
      { link_data: { ...link, image_hash: imageOf(WHOLESALE_ACCOUNT_ID) } },
      { link_data: { ...link, child_attachments: [{ ...link, image_hash: imageOf(WHOLESALE_ACCOUNT_ID) }] } },
      { video_data: { video_id: video, image_hash: imageOf(COFFEE_ACCOUNT_ID) } },
      { video_data: { video_id: ownVideo, image_hash: imageOf(WHOLESALE_ACCOUNT_ID) } },
    ];
    for (const content of foreign)
      t.match(await mine.create("creatives", withContent(content)), {
        status: 400,
        body: { error: "platform_invalid_request" },
      });
    for (const content of [
      { link_data: { ...link, image_hash: imageOf(COFFEE_ACCOUNT_ID) } },
      { video_data: { video_id: ownVideo, image_hash: imageOf(COFFEE_ACCOUNT_ID) } },
    ])
      t.equal((await mine.create("creatives", withContent(content))).status, 201);
  });

  t.test("lists contain only objects of the account", async (t) => {
    for (const resource of Object.keys(NEW_OBJECTS)) {
      const ids = (await mine.read(`/${resource}?limit=100`)).body.data.map(({ id }: { id: string }) => id);
      t.ok(ids.length > 0);
      t.notOk(
        Object.values(theirs).some((id) => ids.includes(id)),
        resource,
      );
    }
  });
});
