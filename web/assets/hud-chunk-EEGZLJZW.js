import{d as e,f as t}from"./hud-chunk-HPGQQQRW.js";function u(){let[n,r]=e(Date.now);return t(()=>{let o=setInterval(()=>r(Date.now()),1e3);return()=>clearInterval(o)},[]),n}export{u as a};
