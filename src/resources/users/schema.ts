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
        description: "Only where none was given: the generated one, shown this once",
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
  { title: "UpdateUserDto" },
);

export const newPassword = object(
  {
    password,
    old_password: Type.Optional(
      Type.String({
        maxLength: 256,
        description: "Required for one's own",
        examples: ["the one before"],
      }),
    ),
  },
  { title: "ChangePasswordDto" },
);

export const userParams = object({ id: prefixedId("usr") });
