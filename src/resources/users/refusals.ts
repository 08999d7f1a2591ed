import { ApiError, notFound } from "../../http/api-error.ts";

export const noSuchUser = () => notFound("user");

export const needsOwner = () =>
  new ApiError("role_insufficient", "Only an owner can create or change an owner");
