import { Heading } from "../../components/heading.tsx";

export const ConnectAdAccounts = () => <Heading title="ConnectAdAccounts" />;
