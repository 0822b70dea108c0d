import { useEffect, useState } from "preact/hooks";
import type { Attachment } from "../store/drafts.ts";
import { base, bytes, decoded } from "../text/format.ts";
import { pictureTypes } from "./content.tsx";

/** Maximum bytes of a picture and of a text that are attached. */
const MAX_PICTURE = 5 << 20;
const MAX_TEXT = 1 << 20;

/** Maximum characters of all attachments of a prompt. The server reads frames of 16 MiB. */
export const MAX_ATTACHED = 12 << 20;

/** attached returns a file as an attachment: a picture, or a text. Its error names the problem. */
export async function attached(file: File): Promise<Attachment> {
  const isPicture = pictureTypes.has(file.type);
  const limit = isPicture ? MAX_PICTURE : MAX_TEXT;
  if (file.size > limit) throw new Error(`${file.name}: ${bytes(file.size)} exceeds the limit of ${bytes(limit)}`);
  const content = await file.arrayBuffer();
  if (isPicture) return { name: file.name, block: { type: "image", mimeType: file.type, data: await base64(content, file.type) } };
  return { name: file.name, block: { type: "resource", resource: { uri: `attachment:${encodeURIComponent(file.name)}`, text: textOf(file.name, content) } } };
}

/** pasted returns a text as a file to attach. */
export const pasted = (text: string): File => new File([text], "Pasted text", { type: "text/plain" });

function textOf(name: string, content: ArrayBuffer): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    if (!text.includes("\0")) return text;
  } catch {
    // Reported below.
  }
  throw new Error(`${name} is neither text nor a PNG, JPEG, GIF or WebP picture`);
}

function base64(content: ArrayBuffer, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the picture cannot be read"));
    reader.readAsDataURL(new Blob([content], { type }));
  });
}

/** linksOf returns the file: URIs that are dragged, as from a file manager. */
export function linksOf(dragged: DataTransfer): Attachment[] {
  const uris = dragged.getData("text/uri-list").split(/\r?\n/).filter((uri) => uri.startsWith("file:"));
  return uris.map((uri) => {
    const name = base(decoded(uri));
    return { name, block: { type: "resource_link", name, uri } };
  });
}

/** useDrop calls take with files and links that are dropped anywhere on the page, and returns whether some are dragged over it. */
export function useDrop(take: (dragged: DataTransfer) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const isTaken = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.some((t) => t === "Files" || t === "text/uri-list") ?? false;
    const listen = (name: "dragover" | "dragleave" | "drop", run: (event: DragEvent) => void): void =>
      addEventListener(name, (event) => { if (isTaken(event)) run(event); }, { signal: stop.signal });
    listen("dragover", (event) => {
      event.preventDefault();
      setOver(true);
    });
    listen("dragleave", (event) => setOver(event.relatedTarget !== null));
    listen("drop", (event) => {
      event.preventDefault();
      setOver(false);
      if (event.dataTransfer) take(event.dataTransfer);
    });
    return () => stop.abort();
  }, [take]);
  return over;
}
