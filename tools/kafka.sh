#!/usr/bin/env bash
# kafka.sh DIR fetches Apache Kafka's jars by Maven into DIR/jars and prints DIR: what
# CONGCTL_KAFKA_CACHE should name. Java 17 or later must be there.
set -euo pipefail
dir=$1
version=4.3.1 # 4.4.0 on Maven Central refers to an artifact that is not there
if ! ls "$dir"/jars/kafka-server-"$version".jar >/dev/null 2>&1; then
	for program in java mvn; do
		command -v "$program" >/dev/null 2>&1 || { echo "kafka.sh: no $program: apt-get install openjdk-17-jre-headless maven" >&2; exit 1; }
	done
	mkdir -p "$dir"
	cat >"$dir/pom.xml" <<-POM
		<project xmlns="http://maven.apache.org/POM/4.0.0">
		  <modelVersion>4.0.0</modelVersion>
		  <groupId>congctl</groupId><artifactId>kafka-for-tests</artifactId><version>1</version>
		  <dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency></dependencies>
		</project>
	POM
	(cd "$dir" && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$dir/jars" >&2)
fi
ls "$dir"/jars/kafka-server-"$version".jar >/dev/null || { echo "kafka.sh: $dir/jars has no Kafka $version" >&2; exit 1; }
echo "$dir"
