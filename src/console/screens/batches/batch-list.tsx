import { Heading } from "../../components/heading.tsx";

export const BatchList = () => <Heading title="BatchList" />;
