import React, { useState, type FC } from "react";
import { Panel } from "@/components/Panel";
import styles from "./App.module.css";

interface Props<T> {
  items: T[];
  render: (item: T) => React.ReactNode;
  onSelect?(item: T): void;
}

type State = { open: boolean };

export const List = <T extends { id: string }>({ items, render, onSelect }: Props<T>) => {
  const [open, setOpen] = useState(false);
  const toggle = () => setOpen(!open);
  return (
    <Panel className={styles.list} onClick={toggle}>
      {items.map((item) => <Row key={item.id} onClick={() => onSelect?.(item)}>{render(item)}</Row>)}
    </Panel>
  );
};

export class Boundary extends React.Component<{}, State> {
  state: State = { open: false };
  static getDerivedStateFromError(): State { return { open: true }; }
  handle = (e: Error) => { report(e); };
  override render() { return <>{this.props.children}</>; }
}

export function useItems(url: string): Item[] {
  return useQuery<Item[]>(url).data ?? [];
}

const Größe: FC<{ n: number }> = React.memo(({ n }) => <b>{n}</b>);

export default function App(): JSX.Element {
  return <List items={useItems("/items")} render={(i) => <Größe n={i.size} />} />;
}
