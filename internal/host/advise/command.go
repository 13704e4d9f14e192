package advise

import (
	"slices"
	"strings"
)

// command is one simple command of a script with everything chained to it, up to ";", "&" or
// the end of its line.
type command struct {
	from  int      // where its first line begins, in bytes
	line  int      // that it ends on, from 1
	words []string // with operators as words of their own
	odd   bool     // only a shell can read part of it
}

// operators end a word, the longer ones first.
var operators = []string{"2>&1", "&>", "1>", "2>", ">>", "&&", "||", ";;", ">", "<", "|", "&", ";", "(", ")"}

// commands parses a script without running any of it: no variables, no patterns, no
// here-documents. A line that ends in a backslash or an operator continues on the next, as
// does one in quotes.
func commands(text string) (list []command) {
	var c command
	end := func() {
		if len(c.words) > 0 {
			list = append(list, c)
		}
		c = command{}
	}
	line, begin := 1, 0
	for at := 0; at < len(text); {
		rest := text[at:]
		switch op, _ := operator(rest); {
		case rest[0] == '\n':
			line, at = line+1, at+1
			if !c.goesOn() {
				end()
				begin = at
			}
		case rest[0] == ' ' || rest[0] == '\t':
			at++
		case strings.HasPrefix(rest, "\\\n"):
			line, at = line+1, at+2
		case rest[0] == '#':
			comment, _, _ := strings.Cut(rest, "\n")
			at += len(comment)
		case op == ";" || op == "&":
			end()
			at++
		default:
			if len(c.words) == 0 {
				c.from = begin
			}
			n := c.take(rest, op)
			line += strings.Count(rest[:n], "\n")
			at, c.line = at+n, line
		}
	}
	end()
	return list
}

// take adds the next word or operator, and returns its length in the text.
func (c *command) take(rest, op string) int {
	if op != "" {
		c.words = append(c.words, op)
		return len(op)
	}
	word, after, odd := oneWord(rest)
	c.words, c.odd = append(c.words, word), c.odd || odd
	return len(rest) - len(after)
}

// goesOn reports whether the next line belongs to it.
func (c command) goesOn() bool {
	return len(c.words) > 0 && slices.Contains([]string{"&&", "||", "|"}, c.words[len(c.words)-1])
}

func operator(line string) (op, rest string) {
	for _, o := range operators {
		if rest, ok := strings.CutPrefix(line, o); ok {
			return o, rest
		}
	}
	return "", line
}

// oneWord reads a word up to a blank or an operator, without quotes.
func oneWord(line string) (word, rest string, odd bool) {
	for line != "" {
		switch c := line[0]; {
		case c == '<' || c == '>': // of a descriptor, where nothing but its number is before it
			return word, line, odd || word != "" && strings.Trim(word, "0123456789") == ""
		case c == ' ' || c == '\t' || c == '\n', strings.IndexByte("|&;()", c) >= 0:
			return word, line, odd
		case c == '\'' || c == '"':
			in, after, closed := strings.Cut(line[1:], string(c))
			odd = odd || !closed || c == '"' && strings.ContainsAny(in, "$`\\")
			word, line = word+in, after
		default:
			odd = odd || strings.IndexByte("$`\\*?[", c) >= 0
			word, line = word+line[:1], line[1:]
		}
	}
	return word, "", odd
}

// quiet drops what does not change what a command sets: discarded output, and what happens
// if it fails.
func (c command) quiet() []string {
	words := slices.Clone(c.words)
	if i := slices.Index(words, "||"); i >= 0 && c.harmless(words[i+1:]) {
		words = words[:i]
	}
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "2>&1":
			words = slices.Delete(words, i, i+1)
			i--
		case strings.HasSuffix(words[i], ">") && i+1 < len(words) && words[i+1] == "/dev/null":
			words = slices.Delete(words, i, i+2)
			i--
		}
	}
	return words
}

func (c command) harmless(words []string) bool {
	return len(words) == 1 && (words[0] == "true" || words[0] == ":")
}
