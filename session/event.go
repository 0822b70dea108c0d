package session

import (
	"strata/session/assembly"
	"strata/session/fit"
)

// TiersChanged tells what moved between tiers with the last reply, or with the request that is sent.
type TiersChanged struct {
	Changes []assembly.TierChange `json:"changes"`
}

// LeftOuts are everything that a request omits.
type LeftOuts struct {
	LeftOut []fit.Omitted `json:"leftOut"`
}
