#include "größe.h"

struct lager {
	int größe;
};

int fuege(struct lager *l, int a)
{
	return push(l, a);
}

int broken(int a, {
	if (a > 
	return a;

int after(struct lager *l)
{
	return measure(l);
}

enum zustand { OFFEN, ZU };

static void ende(void)
{
	int x[] = { 1,
