var e=["plain","keyword","string","number","comment","title","attr","added","removed"];export{e as a};
