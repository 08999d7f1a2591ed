import { Heading } from "../../components/heading.tsx";

export const Overview = () => <Heading title="Overview" />;
