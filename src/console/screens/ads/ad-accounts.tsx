import { Heading } from "../../components/heading.tsx";

export const AdAccounts = () => <Heading title="AdAccounts" />;
