package historystore

import (
	"fmt"
	"unicode/utf8"

	"strata/history"
)

// encodeDocument validates a document and returns its encoding. The name must be valid UTF-8, because JSON would change
// other bytes.
func encodeDocument(d history.Document) (body string, err error) {
	if d.Name == "" || !utf8.ValidString(d.Name) {
		return "", fmt.Errorf("invalid document name %q", d.Name)
	}
	d.At = fromMicros(micros(d.At))
	if body, err = asJSON(d); err != nil {
		return "", fmt.Errorf("document %s: %w", d.Name, err)
	}
	return body, nil
}

// putDocuments deletes first, so that a document in both lists is kept.
func (p *prepared) putDocuments(tx *writeTx) error {
	for _, name := range p.DropDocuments {
		if _, err := tx.exec("DELETE FROM document WHERE session = ? AND name = ?", p.Session, name); err != nil {
			return err
		}
	}
	for i := range p.PutDocuments {
		if _, err := tx.exec("INSERT INTO document (session, name, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
			p.Session, p.PutDocuments[i].Name, p.documents[i]); err != nil {
			return err
		}
	}
	return nil
}

// scanDocument reads a document. If the body is damaged it returns only the name, so that the document can be replaced
// or deleted.
func (s *Store) scanDocument(row scanner) (history.Document, error) {
	var name, body string
	if err := row.Scan(&name, &body); err != nil {
		return history.Document{}, err
	}
	return decodeWhole(s, "document", name, body, history.Document{Name: name}, func(d history.Document) bool {
		return d.Name == name
	}), nil
}
