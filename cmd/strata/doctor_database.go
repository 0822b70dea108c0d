package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver that package historystore uses
)

// checkDatabase reads the whole database, without the right to change it, and says what is wrong with it.
// It does no harm to a server that has the database open.
func checkDatabase(ctx context.Context, path string) error {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/folder
		path = "/" + path
	}
	source := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)"}}.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return err
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("%w: put a copy from a backup in its place, or move it away to begin anew", err)
	}
	if verdict != "ok" {
		return errors.New("it is damaged (" + verdict + "): put a copy from a backup in its place, or move it away to begin anew")
	}
	return nil
}

// samePort reports whether the address of a server and an address to listen on have the same port.
func samePort(server, listen string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	_, port, err := net.SplitHostPort(listen)
	return err == nil && port == u.Port()
}
