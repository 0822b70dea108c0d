// Package fulltext defines the words of texts and of queries, and decides when the search index is brought up to date.
// It knows no tables and no SQL, except the syntax of a query.
package fulltext
