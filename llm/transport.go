package llm

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
)

// httpClient follows no redirects: they would carry a key to another host.
func (c *Client) httpClient() *http.Client {
	return &http.Client{
		Transport:     c.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// onlySuccess is a middleware for both SDKs. It makes an *Error of every answer that is no stream: the SDKs would
// read an error's body without a limit, quote it whole, and lose the status where it is not JSON.
func (c *Client) onlySuccess(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, readFailure(res, c.now())
	}
	if req.Method == http.MethodPost {
		if err := notAStream(res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// ping takes the outcome of a harmless request. A server without that endpoint can be reached, too.
func ping(err error) error {
	var out *Error
	if errors.As(err, &out) && (out.Status == http.StatusNotFound || out.Status == http.StatusMethodNotAllowed) {
		return nil
	}
	return err
}

// count is a number of tokens from a provider, whatever it looks like: a fraction is cut, what is negative or null is 0.
type count int

// UnmarshalJSON takes any JSON value.
func (c *count) UnmarshalJSON(raw []byte) error {
	const most = 1 << 40
	*c = 0
	var n float64
	if json.Unmarshal(raw, &n) == nil && !math.IsNaN(n) {
		*c = count(max(0, min(n, most)))
	}
	return nil
}
