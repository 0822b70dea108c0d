const whole = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** count formats 12345 as "12,345". */
export const count = (n: number): string => whole.format(n);

/** short abbreviates a number of tokens: 950, 1.2K, 128K, 1M. */
export function short(n: number): string {
  if (n < 1000) return String(n);
  if (n < 999_500) return trim(n / 1000) + "K";
  return trim(n / 1_000_000) + "M";
}

/** tokens abbreviates a number of tokens with one decimal, for tables: 500, 1.5K, 11.4K, 2.3M. */
export function tokens(n: number): string {
  if (n < 1000) return String(Math.round(n));
  return n < 999_950 ? tenth(n / 1000) + "K" : tenth(n / 1_000_000) + "M";
}

const tenth = (n: number): string => n.toFixed(1).replace(/\.0$/, "");

const trim = (n: number): string => (n < 10 ? n.toFixed(1).replace(/\.0$/, "") : String(Math.round(n)));

/** percent formats a share, rounded down as the server does: 9.6 %, 53 %, and "< 0.1 %" for small shares above 0. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const share = (100 * part) / whole;
  if (share < 0.1) return "< 0.1 %";
  return `${share < 10 ? Math.floor(share * 10) / 10 : count(Math.floor(share))} %`;
}

/** words formats "over_budget" as "over budget". */
export const words = (code: string): string => code.replaceAll("_", " ");

/** sentence formats "over_budget" as "Over budget". */
export function sentence(code: string): string {
  const text = words(code);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** bytes abbreviates a number of bytes, in powers of 1,024. */
export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 ? String(n) : n < 10 ? n.toFixed(1) : String(Math.round(n))) + " " + units[i];
}

const cents = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** dollars formats US dollars: two decimals from a dollar on, four below. */
export const dollars = (n: number): string => "$" + (n === 0 ? "0" : n >= 1000 ? cents.format(n) : n.toFixed(n >= 1 ? 2 : 4));

/** when formats a time: the time of day for today, otherwise the date. Invalid times give "". */
export function when(iso: string, now: Date = new Date()): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  return at.toDateString() === now.toDateString() ? clock.format(at) : day.format(at);
}

/** fully formats a date and time in the browser's zone. Invalid times give "". */
export function fully(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : dateTime.format(at);
}

/** elapsed formats a time in milliseconds: 12 s, 1 min 12 s, 2 h 5 min. */
export function elapsed(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${count(Math.floor(s / 3600))} h ${Math.floor((s % 3600) / 60)} min`;
}

/** seconds formats the time that a call took: 0.3 s, 12.4 s, 1 min 12 s. */
export const seconds = (ms: number): string => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : elapsed(ms));

/** noun returns a noun for a count: "message" for 1, otherwise "messages". */
export const noun = (n: number, one: string, many = one + "s"): string => (n === 1 ? one : many);

/** plural formats a count with its noun: "1 message", "2 messages". */
export const plural = (n: number, one: string, many = one + "s"): string => `${count(n)} ${noun(n, one, many)}`;

/** base returns the last element of a path. */
export function base(path: string): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== "");
  return parts.at(-1) ?? path;
}

/** fileURI returns the file: URI of a path below a folder, or of an absolute path. */
export function fileURI(folder: string, path: string): string {
  const absolute = /^([\\/]|[A-Za-z]:[\\/])/.test(path) ? path : folder.replace(/[\\/]+$/, "") + "/" + path;
  const slashed = absolute.replaceAll("\\", "/");
  const parts = slashed.split("/").map((part, i) => (i === 0 && /^[A-Za-z]:$/.test(part) ? part : encodeURIComponent(part)));
  return "file://" + (slashed.startsWith("/") ? "" : "/") + parts.join("/");
}

/** decoded returns a part of an address; unchanged if its encoding is invalid. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
