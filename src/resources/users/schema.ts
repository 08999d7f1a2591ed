import { email, entityName, password, role } from "../../schema/tenants.ts";
import { nullable, object, prefixedId, type Static, Type, timestamp } from "../../schema/types.ts";

const name = entityName("Ada Lovelace");

export const user = object(
  {
    id: prefixedId("usr"),
    email,
    name,
    role,
    enabled: Type.Boolean(),
    last_login_at: nullable(timestamp()),
    created_at: timestamp(),
  },
  { title: "UserDto" },
);

export type UserDto = Static<typeof user>;

export const createdUser = object(
  {
    ...user.properties,
    password: Type.Optional(
      Type.String({
        description: "The generated password, shown only once; absent if the request contained one",
        examples: ["hT4mQ8sZ2vXbN6cK9dLr"],
      }),
    ),
  },
  { title: "CreatedUserDto" },
);

export const newUser = object(
  { email, name, role, password: Type.Optional(password) },
  { title: "CreateUserDto" },
);

export const userChanges = object(
  { name: Type.Optional(name), role: Type.Optional(role), enabled: Type.Optional(Type.Boolean()) },
  { title: "UpdateUserDto", "x-fixed": ["email"] },
);

export const newPassword = object(
  {
    password,
    old_password: Type.Optional(
      Type.String({
        maxLength: 256,
        description: "Required to change your own password",
        examples: ["the old password"],
      }),
    ),
  },
  { title: "ChangePasswordDto" },
);

export const userParams = object({ id: prefixedId("usr", { description: "The user" }) });
