// Package asn reads a database of autonomous systems in MaxMind's format (mmdb), so
// that client networks can be grouped by operator without a list of one's own.
//
// It fetches nothing: such databases come under licences of their own.
//
// Its trap: databases of cities and countries have the same format and other fields.
// One without autonomous systems is refused when it is opened.
package asn
