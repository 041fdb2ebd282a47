from unrolled.commands.check import main

if __name__ == "__main__":
    main()
