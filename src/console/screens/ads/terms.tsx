import { Heading } from "../../components/heading.tsx";

export const Terms = () => <Heading title="Terms" />;
