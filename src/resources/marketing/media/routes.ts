import type { Route } from "../../../http/route.ts";
import { type ImageParts, imageRoute } from "./image-route.ts";
import { videoRoutes } from "./video-routes.ts";

export const mediaRoutes = (parts: ImageParts): Route[] => [imageRoute(parts), ...videoRoutes(parts)];
