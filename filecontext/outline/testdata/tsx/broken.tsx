import { h } from "preact";

export function Gruß({ name }: { name: string }) {
  return <p title="Grüße">Hallo, {name}!</p>;
}

export function Broken() {
  return <div>
    <span>{half(</span>

export const After = (props: PropsOf<Gruß>) => <Gruß {...props} />;

export class Übrig extends Component {
  render() { return <Missing
