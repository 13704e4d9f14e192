// Package asn reads a database of autonomous systems in MaxMind's format (mmdb), so that
// client networks can be grouped by operator without a list of our own.
//
// It downloads nothing: such databases have their own licences.
//
// Its trap: databases of cities and countries have the same format and other fields.
// Opening refuses one without autonomous systems.
package asn
