// Package answer has the forms of the verbs' answers: tables that fit a terminal, JSON, JSON
// lines.
//
// It knows no answer: each capability writes its own.
//
// Its trap: rates are in Mbit/s in tables (what people compare with an access line), while
// JSON and the policy count bytes/s. A column's unit is in its heading.
package answer
