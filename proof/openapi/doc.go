// Package openapi compares the description of the API with what the API answers, both ways.
//
// # Purpose
//
// The description that a member serves is checked as OpenAPI 3.1; each answer is checked against it; and each answer
// that it promises is provoked, errors too.
//
// # What is not guaranteed
//
// That a field means what its name says: the tests of package api see to that.
package openapi
