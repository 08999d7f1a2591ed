import { Heading } from "../../components/heading.tsx";

export const Webhooks = () => <Heading title="Webhooks" />;
