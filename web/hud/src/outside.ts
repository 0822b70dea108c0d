/** What a page in an editor leaves to the editor. */
export interface Outside {
  /** Stores a file. */
  save(file: Blob, name: string): void;
  /** Loads the page again. */
  reload(): void;
  /** The page can print. */
  prints: boolean;
}

/** outside does it as a browser does, unless an editor replaces it. */
export const outside: Outside = {
  save(file, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  },
  reload: () => location.reload(),
  prints: true,
};
