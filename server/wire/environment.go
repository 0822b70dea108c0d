package wire

import "strata/internal/environment"

// OfferEnvironmentParams are the parameters of _strata/environment/offer.
type OfferEnvironmentParams struct {
	Env map[string]string `json:"env" need:"value"` // by name
}

func (p *OfferEnvironmentParams) validate() error {
	if err := environment.Check(p.Env); err != nil {
		return InvalidParams("params.env: %v", err)
	}
	return nil
}
