/** Paths of the icons, each a single stroke on 16 × 16. */
const paths = {
  plus: "M8 3v10M3 8h10",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  chevron: "m6 4 4 4-4 4",
  down: "m4 6 4 4 4-4",
  up: "m4 10 4-4 4 4",
  print: "M4.5 6V2.5h7V6M4.5 11h-2V6h11v5h-2M4.5 9.500h7v4h-7z",
  close: "m4 4 8 8M12 4l-8 8",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  check: "m3 8.5 3.5 3.5L13 4.5",
  insert: "M5 2.5q2 0 2 2v7q0 2-2 2M9 2.5q-2 0-2 2M9 13.5q-2 0-2-2M10.5 8h4M12.5 6v4",
  apply: "M4 2.5h5l3 3v8H4zM6 9l1.5 1.5 3-3",
  edit: "m10.5 3 2.5 2.5L6 12.5l-3.2.7.7-3.2z",
  fork: "M4.5 2.5v11M4.5 9c0-3 7-1.5 7-5.5M9.5 5l2-2 2 2",
  download: "M8 2.5v7.5M5 7.5l3 3 3-3M3 13.5h10",
  upload: "M8 10.5V3M5 5.5l3-3 3 3M3 13.5h10",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  attach: "m12.5 7.5-5 5a3 3 0 0 1-4.2-4.2l5.4-5.4a2 2 0 0 1 2.8 2.8L6.3 10.9a1 1 0 0 1-1.4-1.4l4.6-4.6",
  send: "M8 13V3.5M4 7.5l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  server: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  terminal: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10.5H11",
  list: "m2.5 4 1 1 1.5-2M2.5 8.5l1 1L5 7.5M2.5 13l1 1L5 12M7.5 4h6M7.5 8.5h6M7.5 13h6",
  tool: "M9.5 6.5a3 3 0 0 1 3.8-3.8L11.5 4.500l1 1 1.8-1.8a3 3 0 0 1-3.8 3.8l-5 5a1.200 1.200 0 0 1-1.700-1.700z",
  sidebar: "M2.5 3h11v10h-11zM6.5 3v10",
  inspector: "M2.5 3h11v10h-11zM9.5 3v10",
  more: "M3 8a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0M7.500 8a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0M12 8a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0",
  find: "M8 1.500v2.500M8 12v2.500M1.500 8h2.500M12 8h2.500M8 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.2c.2-2.2 3.5-2 3.4.1 0 1.3-1.7 1.3-1.7 2.6M8 11.2h.01",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" width="20" height="20" viewBox="0 0 32 32" aria-hidden="true">
      <path fill="#c98d5b" d="M16 4 29 11 16 18 3 11z" />
      <path fill="#a86c3c" d="M6.2 14.7 16 20l9.8-5.3L29 16.5 16 23.5 3 16.5z" />
      <path fill="#7d4a24" d="M6.2 20.2 16 25.5l9.8-5.3L29 22 16 29 3 22z" />
    </svg>
  );
}
