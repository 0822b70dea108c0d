package overview

import (
	"time"
	_ "time/tzdata" // not all systems have a database of time zones

	"strata/server/wire"
)

// The periods of _strata/usage/overview, in days.
const (
	MaxDays     = 366
	DefaultDays = 30
)

// maxZone is the maximum length of the name of a time zone, in bytes.
const maxZone = 64

// Params are the parameters of _strata/usage/overview.
type Params struct {
	Days     int    `json:"days"`     // calendar days, including today
	TimeZone string `json:"timeZone"` // IANA name; empty: the server's own
}

// Overview is the result of _strata/usage/overview. Days, models and folders each contain all calls of the period, so
// that the sums of each list are the totals.
type Overview struct {
	Since    time.Time          `json:"since"` // beginning of the first day
	Until    time.Time          `json:"until"` // end of today
	Totals   Spent              `json:"totals"`
	Days     []SpentDay         `json:"days"` // oldest first, also those without calls
	Models   []SpentModel       `json:"models"`
	Folders  []SpentFolder      `json:"folders"`
	Sessions []SpentSession     `json:"sessions"` // the dearest
	Budgets  []wire.BudgetState `json:"budgets"`  // by name; their periods do not depend on the parameters
}

// Spent are sums over model calls.
type Spent struct {
	wire.UsageTotals
	HitRate  float64 `json:"hitRate"`  // share of the input that was read from the cache, 0 to 1
	Unpriced int     `json:"unpriced"` // calls whose price is unknown: cost counts them as 0
}

// SpentDay is the usage of a calendar day of the client's time zone.
type SpentDay struct {
	Date  string    `json:"date"`  // 2006-01-02
	Since time.Time `json:"since"` // beginning of the day
	Spent
}

// SpentModel is the usage of a model.
type SpentModel struct {
	Model  string `json:"model"`            // provider/model; empty for the rest
	Others int    `json:"others,omitempty"` // number of models in the rest
	Spent
}

// SpentFolder is the usage of the sessions of a folder.
type SpentFolder struct {
	Folder string `json:"folder"`           // path without links; empty for the rest
	Others int    `json:"others,omitempty"` // number of folders in the rest
	Spent
}

// SpentSession is the usage of a session.
type SpentSession struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title,omitempty"`
	Folder    string `json:"folder"`            // path without links
	Deleted   bool   `json:"deleted,omitempty"` // it can be undeleted
	Spent
}

// Period returns the number of days and the time zone.
func (p *Params) Period() (days int, zone *time.Location, err error) {
	switch days = p.Days; {
	case days < 0 || days > MaxDays:
		return 0, nil, wire.InvalidParams("params.days: %d is not 1 to %d", days, MaxDays)
	case days == 0:
		days = DefaultDays
	}
	if p.TimeZone == "" || p.TimeZone == "Local" {
		return days, time.Local, nil
	}
	if len(p.TimeZone) <= maxZone {
		zone, err = time.LoadLocation(p.TimeZone)
	}
	if zone == nil || err != nil {
		return 0, nil, wire.InvalidParams("params.timeZone: %.64q is not the name of a time zone, such as Europe/Berlin", p.TimeZone)
	}
	return days, zone, nil
}
