package config

import "testing"

func TestTextIsReadBackToTheSame(t *testing.T) {
	for name, file := range map[string]string{
		"defaults": "",
		"scaled":   "window: 2m\n",
		"changed": `pop: ams
window: 10s
netns: [own, blue]
ports: [80, 443, 8080-8090]
clients: {allow: [10.1.0.0/16], exclude: ["2001:db9::/32"]}
treatment: {default_cong: cubic, expiry: 90s, never: [203.0.113.0/28], always: ["198.51.100.0/24 ticket: 7, why #not", 2001:db8::/56 radio], control: off}
policy: {lookback: 3m, max_age: 1h, guards: {low_rtt: false, policer_spread: 0}}
plan: {max: 10, new_per_round: 5, allow_prefixes: [10.1.2.0/24]}
store: {keep_windows: 37h, addresses: full}
`,
	} {
		c, err := Parse([]byte(file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := c.Text()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text)
		}
		equal(t, again, c)
	}
}
