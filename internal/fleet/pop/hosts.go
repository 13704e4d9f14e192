package pop
