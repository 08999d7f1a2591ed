import { ApiError } from "../../runtime/errors.ts";

export const noSuchUser = () => new ApiError("not_found", "There is no such user");

export const needsOwner = () => new ApiError("role_insufficient", "Only an owner makes or changes an owner");
