// Package show prints what the verbs answer, for people: tables and sentences.
//
// It asks nobody and computes nothing that JSON output would lack.
//
// Its trap: a column's unit is in its heading, and rates are in Mbit/s here (what
// people compare with an access line) while JSON and the policy count bytes/s.
package show
