import { Heading } from "../../components/heading.tsx";

export const BatchScreen = () => <Heading title="BatchScreen" />;
