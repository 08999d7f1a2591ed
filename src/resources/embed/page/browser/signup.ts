import type { PageData } from "../page-data.ts";
import { readData } from "./read-data.ts";
import { startSignupFlow } from "./signup-flow.ts";

startSignupFlow(readData<PageData>());
