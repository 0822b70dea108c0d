import { words } from "./format.ts";

/** Reasons for which a request holds a placeholder for a picture. */
const pictureReasons: Record<string, string> = {
  no_vision: "picture omitted: the model has no vision", picture_too_large: "picture omitted: it exceeds the model’s limit",
  request_too_large: "picture omitted: the request would be too large", picture_refused: "picture omitted: the provider refused it",
};

/** Other reasons for omitted or truncated items that their codes do not explain. */
const reasons: Record<string, string> = {
  cut_to_fit: "truncated to fit", missing: "file not found", outside: "outside the session’s folders",
  replaced: "its folder was replaced", own: "belongs to Strata", secret: "looks like a secret", bad_path: "invalid path",
  bad_uri: "invalid address of a file", directory: "not a file but a folder", not_regular: "not a regular file",
  too_large: "file too large", room_again: "there was room again", binary: "not a text file", encoding: "unknown text encoding",
  range: "lines missing from the file", no_room: "too many files in the session",
  away: "the editor that has the file is not connected",
};

export const isPictureReason = (code: string): boolean => code in pictureReasons;

/** reasonText returns a reason for an omitted item in words, such as "over budget". */
export const reasonText = (code: string): string => pictureReasons[code] ?? reasons[code] ?? words(code);
