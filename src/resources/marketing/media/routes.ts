import type { Route } from "../../../http/route.ts";
import { type ImageParts, imageRoute } from "./image-route.ts";

export const mediaRoutes = (parts: ImageParts): Route[] => [imageRoute(parts)];
