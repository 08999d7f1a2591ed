import { Heading } from "../../components/heading.tsx";

export const Keys = () => <Heading title="Keys" />;
