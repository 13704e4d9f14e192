/* chdb LIBRARY FOLDER answers statements with ClickHouse's engine as a library, one after the other:
 * each is its length (8 bytes, this machine's order) and its text on standard input. An answer is a
 * byte, 0 or 1 for an error, a length, and a body in the format Native, or the error's text.
 * It is built with nothing but a C compiler: the library comes without a header. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *symbol(void *lib, const char *name)
{
	void *s = dlsym(lib, name);

	if (!s) {
		fprintf(stderr, "chdb: %s\n", dlerror());
		exit(1);
	}
	return s;
}

static void answer(uint8_t bad, const char *body, uint64_t len)
{
	fwrite(&bad, 1, 1, stdout);
	fwrite(&len, sizeof(len), 1, stdout);
	fwrite(body, 1, len, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char path[4096];
	char *args[] = { "clickhouse", path };
	uint64_t len;
	void *lib;

	if (argc != 3 || snprintf(path, sizeof(path), "--path=%s", argv[2]) >= (int)sizeof(path)) {
		fprintf(stderr, "usage: chdb LIBRARY FOLDER\n");
		return 2;
	}
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "chdb: %s\n", dlerror());
		return 1;
	}
	void **(*open)(int, char **) = symbol(lib, "chdb_connect");
	void *(*query)(void *, const char *, size_t, const char *, size_t) = symbol(lib, "chdb_query_n");
	const char *(*buffer)(void *) = symbol(lib, "chdb_result_buffer");
	size_t (*length)(void *) = symbol(lib, "chdb_result_length");
	const char *(*error)(void *) = symbol(lib, "chdb_result_error");
	void (*destroy)(void *) = symbol(lib, "chdb_destroy_query_result");
	void **connection = open(2, args);

	if (!connection) {
		fprintf(stderr, "chdb: no connection\n");
		return 1;
	}
	while (fread(&len, sizeof(len), 1, stdin) == 1) {
		char *text = malloc(len + 1);

		if (!text || fread(text, 1, len, stdin) != len)
			return 1;
		text[len] = 0;
		void *result = query(*connection, text, len, "Native", strlen("Native"));
		const char *bad = result ? error(result) : "no result";

		if (bad)
			answer(1, bad, strlen(bad));
		else
			answer(0, buffer(result), length(result));
		if (result)
			destroy(result);
		free(text);
	}
	return 0;
}
