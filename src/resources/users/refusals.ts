import { ApiError, notFound } from "../../runtime/errors.ts";

export const noSuchUser = () => notFound("user");

export const needsOwner = () => new ApiError("role_insufficient", "Only an owner makes or changes an owner");
