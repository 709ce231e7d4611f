// Package driver has what the drivers of stores share.
//
// # Purpose
//
// Each driver knows one server. This package has what does not depend on the server: how an error says whether a call
// was done, was not done, or may have been done; and how it names the call that failed and the place.
package driver
