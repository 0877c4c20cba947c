// The reference servers listen on every address; in tests they listen on this machine alone.
const net = require("net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...rest) {
  if (/^\d+$/.test(String(first)) && typeof rest[0] !== "string") rest.unshift("127.0.0.1");
  return listen.call(this, first, ...rest);
};
