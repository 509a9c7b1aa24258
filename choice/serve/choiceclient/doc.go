// Package choiceclient calls a service about tournaments and slates: the part of package service/client that is
// about them.
package choiceclient

import "thresher/service/client"

// Client calls one server about tournaments and slates, and otherwise as client.Client does. It is safe for
// concurrent use.
type Client struct{ *client.Client }

// Of returns a client that makes its calls by c.
func Of(c *client.Client) *Client { return &Client{c} }
